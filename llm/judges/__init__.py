"""Who judges: the proxy (also as a noisy teacher), a language or vision model, a person, several people."""
