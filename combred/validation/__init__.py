"""What is compared with CVODE, how it is stored, and what is accepted."""
