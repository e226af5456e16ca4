package collective

import "fmt"

// Run carries a Program out on data and returns each rank's part of the operation's
// vector in the end. Input has each rank's contribution: its part to an allgather or
// gather, the whole vector to a reduction; the root alone gives to a broadcast or
// scatter, the others' inputs are not looked at. Combine reduces with into into; it is
// not called for operations that do not reduce. The error names an input of another
// length.
//
// Bytes of the result that the operation does not give to a rank have no meaning.
// Run takes Ranks times Bytes of memory.
func Run(p *Program, input [][]byte, combine func(into, with []byte)) ([][]byte, error) {
	if len(input) != p.Ranks {
		return nil, fmt.Errorf("%s: %d inputs for %d ranks", p.Name, len(input), p.Ranks)
	}
	has := make([][]byte, p.Ranks)
	for i := range has {
		has[i] = make([]byte, p.Bytes)
		at, end := int64(0), p.Bytes
		switch p.Operation {
		case Allgather, Gather:
			at, end = p.part(i)
		case Broadcast, Scatter:
			if i != int(p.Root) {
				continue
			}
		}
		if int64(len(input[i])) != end-at {
			return nil, fmt.Errorf("%s: rank %d gives %d bytes instead of %d", p.Name, i, len(input[i]), end-at)
		}
		copy(has[i][at:], input[i])
	}
	var list []Transfer
	for _, s := range p.Stages {
		put := func(into, with []byte) { copy(into, with) }
		if s.Combine {
			put = combine
		}
		for r := range s.repeats() {
			list = s.step(list[:0], r)
			deliver(has, list, put)
		}
	}
	return has, nil
}

// deliver lets all ranks send before any receives.
func deliver(has [][]byte, list []Transfer, put func(into, with []byte)) {
	sent := make([][]byte, len(list))
	for i, t := range list {
		from := has[t.From]
		end := min(t.At+t.Size, int64(len(from)))
		sent[i] = append(sent[i], from[t.At:end]...)
		sent[i] = append(sent[i], from[:t.Size-(end-t.At)]...)
	}
	for i, t := range list {
		to := has[t.To]
		first := min(t.Size, int64(len(to))-t.At)
		put(to[t.At:t.At+first], sent[i][:first])
		put(to[:t.Size-first], sent[i][first:])
	}
}

// part is the bytes of part i: from at up to end.
func (p *Program) part(i int) (at, end int64) {
	return min(int64(i)*p.unit, p.Bytes), min(int64(i+1)*p.unit, p.Bytes)
}
