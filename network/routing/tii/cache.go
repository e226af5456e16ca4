package tii

// cacheBytes bounds the answers that a Cache keeps, in bytes.
const cacheBytes = 64 << 20

// Cache keeps answers to queries for as long as the network is the same: the
// ranks of a job, and many jobs on the same hosts, ask the same. It is for one
// caller at a time.
type Cache struct {
	service *Service
	answers map[string][]string
	bytes   int
}

// NewCache returns a cache of a service's answers.
func NewCache(s *Service) *Cache {
	return &Cache{service: s, answers: map[string][]string{}}
}

// Service returns the one that answers queries that the cache has not.
func (c *Cache) Service() *Service { return c.service }

// Update puts another service in the place of that which was there. If names and
// routes are still the same it keeps the answers and the service that it has, and
// returns false.
func (c *Cache) Update(s *Service) (changed bool) {
	if s.network.fingerprint == c.service.network.fingerprint {
		return false
	}
	*c = *NewCache(s)
	return true
}

// Get returns the answer to a query, false if it is not known.
func (c *Cache) Get(q Query) ([]string, bool) {
	lines, ok := c.answers[q.String()]
	return lines, ok
}

// Put keeps an answer of s, if it still is the service. When the cache is full it
// begins anew.
func (c *Cache) Put(s *Service, q Query, lines []string) {
	if s != c.service {
		return
	}
	key, size := q.String(), 0
	for _, line := range lines {
		size += len(line) + 16
	}
	if size += len(key); size > cacheBytes {
		return
	}
	if c.bytes+size > cacheBytes {
		c.answers, c.bytes = map[string][]string{}, 0
	}
	if _, ok := c.answers[key]; !ok {
		c.bytes += size
	}
	c.answers[key] = lines
}
