"""The asyncio shells of the clients: connections, the loop's time, and one class for each client.

Everything that decides is in `client/core`; the code here moves messages and wakes those who wait. It uses no
thread and only the loop's time, so that it runs unchanged in a simulation.
"""
