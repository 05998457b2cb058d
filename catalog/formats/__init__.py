"""What lies on disk and what names mean. Shared with the pipeline; imports no other room."""
