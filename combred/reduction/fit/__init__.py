"""What a reduction is fitted to: calibration, units, compensation."""
