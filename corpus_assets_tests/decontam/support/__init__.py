"""What tests of decontamination bring along."""
