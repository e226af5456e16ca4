package proc

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// BenchmarkLaunch starts n ranks that do nothing, with an agent that closes what
// it gets; its floor is native/programs/floor.c:
//
//	go test -run '^$' -bench Launch -benchtime 3x ./internal/proc
func BenchmarkLaunch(b *testing.B) {
	for _, n := range []int{512, 4096, 8192} {
		for _, wardens := range []int{1, 2} {
			for _, noCgroup := range []bool{false, true} {
				b.Run(fmt.Sprintf("ranks=%d/wardens=%d/nocgroup=%v", n, wardens, noCgroup), func(b *testing.B) {
					for b.Loop() {
						benchLaunch(b, n, wardens, noCgroup)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/rank")
				})
			}
		}
	}
}

func benchLaunch(b *testing.B, n, wardens int, noCgroup bool) {
	done := make(chan int, wardens)
	for i := range wardens {
		go func() { // ends with its warden
			w, err := Start(context.Background(), Options{JobID: "bench", NoCgroup: noCgroup})
			require.NoError(b, err)
			defer w.Close()
			ranks := make([]Child, n/wardens)
			for k := range ranks {
				ranks[k] = Child{Rank: job.Rank(i*len(ranks) + k), Env: []string{"PMI_RANK=0", "PMI_FD=3"}}
			}
			require.NoError(b, w.OpenJob(job.Cold))
			require.NoError(b, w.Launch(job.Cold, Spec{Umask: 0o22, Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"/bin/true"}}}}, ranks))
			ended := 0
			for {
				events, err := w.Next()
				if err == io.EOF {
					break
				}
				require.NoError(b, err)
				for _, e := range events {
					switch e := e.(type) {
					case Started:
						unix.Close(e.Stdout)
						unix.Close(e.Stderr)
						unix.Close(e.PMI)
					case Exited:
						if ended++; ended == len(ranks) {
							require.NoError(b, w.Finish())
						}
					case StartFailed:
						b.Error(e.Text)
					}
				}
			}
			done <- ended
		}()
	}
	total := 0
	for range wardens {
		total += <-done
	}
	require.Equal(b, n, total)
}
