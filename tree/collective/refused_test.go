package collective_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/member"
)

// TestRefusedMessages has a rank end a call of the library's: messages of others for
// it, past and future, count as taken, whatever their length. Other messages are not
// concerned.
func TestRefusedMessages(t *testing.T) {
	for _, before := range []bool{false, true} {
		for steps := range 40 { // somewhere on the way
			s := newSim(seeded(uint64(steps)), 4, 2, blocks(4, 1))
			var sends []*member.Request
			send := func() {
				for from := 1; from < 4; from++ {
					s.do(s.ends[from], func() {
						c := s.ends[from].World()
						tag := c.LibraryTag(member.Varying)
						for _, size := range []int{0, 100, 100_000} {
							sends = append(sends, c.SendLibrary(0, tag, make([]byte, size)))
						}
						sends = append(sends, c.SendLibrary(0, c.LibraryTag(member.Shrinking), []byte{byte(from)}))
					})
				}
			}
			refuse := func() {
				s.do(s.ends[0], func() {
					c := s.ends[0].World()
					c.Refuse(member.Varying, c.LibraryTag(member.Varying))
				})
			}
			if before {
				refuse()
				s.run()
			}
			send()
			for range steps {
				s.step()
			}
			if !before {
				refuse()
			}
			s.run()
			require.Len(t, sends, 12)
			for _, err := range s.outcomes(t, sends...) {
				require.NoError(t, err)
			}
			var got []*member.Request
			buf := make([]byte, 3)
			s.do(s.ends[0], func() {
				c := s.ends[0].World()
				tag := c.LibraryTag(member.Shrinking)
				for from := 1; from < 4; from++ {
					got = append(got, c.RecvLibrary(from, tag, buf[from-1:from]))
				}
			})
			s.run()
			for _, err := range s.outcomes(t, got...) {
				require.NoError(t, err)
			}
			require.Equal(t, []byte{1, 2, 3}, buf)
			for _, n := range s.nodes {
				require.True(t, n.Forgotten(), "node %d, %v, %d steps", n.index, before, steps)
			}
		}
	}
}
