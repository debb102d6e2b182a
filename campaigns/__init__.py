"""Long runs that try to break a broker: too long for the tests, recorded in docs/campaigns.md."""
