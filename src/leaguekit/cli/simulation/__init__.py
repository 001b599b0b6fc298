"""The parts of ``league simulate``: playing on all cores, progress, files, and reports."""
