package netsim

import "github.com/golaunch/golaunch/network/routing"

// Message is what one rank sends another in a stage.
type Message struct {
	From, To int32
	Size     int64
}

// Schedule is who sends how much to whom, stage by stage. A rank begins a stage
// when it has sent and received what is its own in the stage before.
type Schedule struct {
	Name   string
	Ranks  int
	Stages int
	// Append appends the messages of stage s, 0..Stages-1. A message to its own
	// sender takes no link and no time.
	Append func(messages []Message, s int) []Message
}

// Permutations is the schedule of a sequence whose messages all have one size.
func Permutations(q routing.Sequence, size int64) Schedule {
	var pairs []routing.Pair
	return Schedule{q.Name, q.Ranks, q.Stages, func(messages []Message, s int) []Message {
		pairs = q.Append(pairs[:0], s)
		for _, p := range pairs {
			messages = append(messages, Message{p.From, p.To, size})
		}
		return messages
	}}
}
