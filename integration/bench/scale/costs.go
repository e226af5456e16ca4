package scale

import "time"

// costs are the inputs of the model. Those without a comment that says
// otherwise are processor time.
type costs struct {
	// Counted or fitted on the test cluster (count.go, fit.go).
	Begin     time.Duration // golaunch, from its start to the first connection
	Server    time.Duration // sshd and the account's shell, for one connection
	Agent     time.Duration // a started agent, up to its hello
	Warden    time.Duration // an agent's warden, which starts meanwhile
	Client    time.Duration // the agent or launcher that makes a connection, for that
	Wait      time.Duration // of a connection, beyond processor time and hops
	Spawn     time.Duration // a warden, to start one rank
	Run       time.Duration // a rank (/bin/true), and its agent to see it end
	End       time.Duration // a node, to take all down
	EndWait   time.Duration // of the end, beyond processor time and hops
	Sign      time.Duration // the launcher, for one signature
	Encode    time.Duration // per 1000 bytes of a message, where it is made
	Decode    time.Duration // per 1000 bytes, where it is read
	Crypt     time.Duration // per 1000 bytes, at each end of a link: copied, encrypted
	Send      time.Duration // an agent, for one message
	Receive   time.Duration // an agent, for one message
	Relay     time.Duration // sshd, which stands between parent and child, for one message
	Request   time.Duration // an agent, for one PMI request
	OpenSSH   time.Duration // the ssh command, where a rival uses that as its client
	Rounds    int           // round trips of a connection before the signature
	RoundsEnd int           // from the signature on, until the agent's command runs

	// Of the network.
	Hop  time.Duration // one way between two nodes
	Byte time.Duration // per 1000 bytes, on a node's way out and on its way in
}

// usual are the costs of messages, which the test cluster's figures are too coarse to
// show: Send, Receive and Request as integration/bench/cache has them, Relay and Crypt
// by the rest of a round trip of 64 bytes (82 µs) and of 200 kB (0.45 ms) through a
// real sshd, and the round trips as the protocol has them: TCP, versions with KEXINIT,
// key exchange, service, "none", the key; the signature, the session, the command.
var usual = costs{
	Begin: 10 * time.Millisecond, Server: 20 * time.Millisecond, Agent: 9 * time.Millisecond, Warden: 6 * time.Millisecond,
	Client: 5 * time.Millisecond, Wait: time.Millisecond, Spawn: 400 * time.Microsecond, Run: 600 * time.Microsecond,
	End: 2 * time.Millisecond, EndWait: time.Millisecond,
	Sign: 60 * time.Microsecond, Encode: 5 * time.Microsecond, Decode: 20 * time.Microsecond, Crypt: time.Microsecond,
	Send: 6 * time.Microsecond, Receive: 12 * time.Microsecond, Relay: 20 * time.Microsecond, Request: 12 * time.Microsecond,
	OpenSSH: 56 * time.Millisecond, Rounds: 6, RoundsEnd: 3,
	Byte: time.Microsecond,
}

// connection returns the time of a whole one, with nothing else to do anywhere.
func (c *costs) connection() time.Duration {
	return c.Client + c.Server + c.Agent + c.Wait + time.Duration(2*(c.Rounds+c.RoundsEnd)+1)*c.Hop
}

// per returns the time of n bytes at so much per 1000.
func per(thousand time.Duration, n int) time.Duration {
	return time.Duration(int64(thousand) * int64(n) / 1000)
}

// at returns c with another hop.
func (c costs) at(hop time.Duration) costs {
	c.Hop = hop
	return c
}
