"""Pages: values, charts, templates, the look."""
