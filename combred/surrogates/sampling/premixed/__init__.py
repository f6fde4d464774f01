"""States of premixed ignitions and flames (Chen & Xu 2024)."""
