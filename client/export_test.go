package client

// Busy tells whether this rank has begun something over a communicator that is not over.
func Busy(c *Comm) bool {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	return c.comm.Busy()
}
