package placement

// evenRule spreads the ranks evenly in blocks, and puts one on each host where their
// number is open. Slots are none of its business.
type evenRule struct{}

func (evenRule) Place(in *Input) ([]Run, error) {
	counts := make([]int, len(in.Hosts))
	spread(in.ranks(len(counts)), counts)
	return runsOf(counts), nil
}
