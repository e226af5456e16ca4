package main

import (
	"bufio"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Long work is told of while it lasts, and each part of it is done once.
func TestProgress(t *testing.T) {
	read, write := io.Pipe()
	told := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(read)
		if assert.True(t, lines.Scan()) {
			assert.Regexp(t, `^golaunch: topo: routes: [0-9] of 9$`, lines.Text())
		}
		close(told)
		_, _ = io.Copy(io.Discard, read)
	}()
	var mu sync.Mutex
	times := map[int]int{}
	progressEvery(time.Millisecond, write, "routes")(9, func(i int) {
		if i == 8 {
			<-told
		}
		mu.Lock()
		times[i]++
		mu.Unlock()
	})
	_ = write.Close()
	assert.Len(t, times, 9)
	for i, n := range times {
		assert.Equal(t, 1, n, i)
	}
}

func TestCount(t *testing.T) {
	assert.Equal(t, "1 leaf switch", count(1, "leaf switch"))
	assert.Equal(t, "2 leaf switches", count(2, "leaf switch"))
	assert.Equal(t, "0 hosts", count(0, "host"))
	assert.Equal(t, "1 host shares", count(1, "host shares", "hosts share"))
}
