"""Everything synchronous that makes a broker: its core, coordinators' hosts, controller host, schedule."""
