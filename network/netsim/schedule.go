package netsim

import "github.com/golaunch/golaunch/network/routing"

// Message goes from one rank to another in a stage.
type Message struct {
	From, To int32
	Size     int64
}

// Schedule lists the messages of an operation, stage by stage. A rank begins a stage
// when it has sent and received all its messages of the stage before.
type Schedule struct {
	Name   string
	Ranks  int
	Stages int
	// Append appends the messages of stage s, 0..Stages-1. A message to its own
	// sender takes no link and no time.
	Append func(messages []Message, s int) []Message
}

// Permutations returns the schedule of a sequence whose messages all have one size.
func Permutations(q routing.Sequence, size int64) Schedule {
	var pairs []routing.Pair
	return Schedule{Name: q.Name, Ranks: q.Ranks, Stages: q.Stages, Append: func(messages []Message, s int) []Message {
		pairs = q.Append(pairs[:0], s)
		for _, p := range pairs {
			messages = append(messages, Message{p.From, p.To, size})
		}
		return messages
	}}
}
