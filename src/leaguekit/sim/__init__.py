"""The simulator: virtual time, seeded faults, whole leagues in one process."""
