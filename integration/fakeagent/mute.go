package fakeagent

// Mutes are agents that say nothing any more from some moment on, though their link
// lives: it answers requests by itself. They stay until they are killed.
func Mutes() []Forgery {
	mute := func(name string, at moment) Forgery {
		return Forgery{Name: "mute: " + name, at: at, claims: true, commit: func(*node) error {
			select {} // until it is killed
		}}
	}
	return []Forgery{
		mute("from its range on", ranged),
		mute("from the launch on", launched),
		mute("from the kill on", killed),
		mute("when its counters are asked for", asked),
		mute("when the job is over", ended),
	}
}

// untilTold has a fake that is to be mute at the end have ranks that run until they are
// told to end.
func (n *node) untilTold() error {
	if n.forgery.at < killed {
		return nil
	}
	select {
	case <-n.killed:
		return n.act(killed)
	case <-n.gone:
		return errGone
	}
}

// atTheEnd waits until the job is over for the fake, which may have been asked for its
// counters before.
func (n *node) atTheEnd() error {
	for asking := n.asked; ; asking = nil {
		select {
		case <-asking:
			if err := n.act(asked); err != nil {
				return err
			}
		case <-n.gone:
			return n.act(ended)
		}
	}
}
