package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/client"
)

const (
	// gatherTimeout bounds the wait of ranks for each other's addresses.
	gatherTimeout = 15 * time.Second
	// answerTimeout bounds the wait for a host's answer: the kernel asks again after a
	// second.
	answerTimeout = 2500 * time.Millisecond
	mostAddresses = 16 // of a host
	allTried      = 8  // up to so many hosts each tries every other
)

// Way is a rank's finding about the way to another rank's host. Nothing was tried where
// both are on one machine.
type Way struct {
	Rank    int      `json:"rank"`
	Reached []string `json:"reached"` // addresses of that host that answer
	Not     []string `json:"not"`     // and those that do not
	Lacks   string   `json:"lacks"`   // why it has no address to try, "" where it has, or needs none
}

// end identifies a rank's host to other ranks.
type end struct {
	Machine   string       // the running kernel and its network namespace
	Addresses []netip.Addr // of its interfaces
}

// ownEnd returns this rank's.
func ownEnd() end {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/net") // all that cannot tell are the same
	return end{Machine: string(boot) + namespace, Addresses: addresses()}
}

// gather tells all ranks of each one's end.
func gather(ctx context.Context, own end) (rank int, all []end, err error) {
	c, err := client.Open(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	text, err := json.Marshal(own)
	if err != nil {
		return c.Rank(), nil, err
	}
	texts, err := client.AllGatherv(ctx, c.World(), text)
	if err != nil {
		return c.Rank(), nil, err
	}
	all = make([]end, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal(text, &all[i]); err != nil {
			return c.Rank(), nil, fmt.Errorf("addresses of rank %d: %w", i, err)
		}
	}
	return c.Rank(), all, nil
}

// tryOthers finds whether hosts of other ranks answer at the addresses that MPI libraries use,
// those of their interfaces: of few hosts all, of many some. A refusal is an answer,
// so that nobody has to listen. That ranks arrive late takes no time from the answers.
func tryOthers(ctx context.Context, own end, gather func(context.Context, end) (rank int, all []end, err error)) (rank int, ways []Way, err error) {
	gathering, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	rank, all, err := gather(gathering, own)
	if err != nil {
		return rank, nil, err
	}
	tried := others(rank, len(all))
	ways = make([]Way, len(tried))
	var trying sync.WaitGroup
	for i, other := range tried {
		trying.Go(func() { ways[i] = tryWay(ctx, other, own, all[other]) })
	}
	trying.Wait()
	return rank, ways, nil
}

// tryWay finds whether the host of another rank answers. Every host may have a bridge of
// the same address for its own containers, which is not tried.
func tryWay(ctx context.Context, rank int, own, theirs end) Way {
	foreign := slices.DeleteFunc(slices.Clone(theirs.Addresses), func(a netip.Addr) bool { return slices.Contains(own.Addresses, a) })
	switch {
	case theirs.Machine == own.Machine:
		return Way{Rank: rank}
	case len(theirs.Addresses) == 0:
		return Way{Rank: rank, Lacks: "it has no address beyond the loopback interface"}
	case len(foreign) == 0:
		return Way{Rank: rank, Lacks: "both have the same addresses"}
	}
	return try(ctx, rank, foreign[:min(len(foreign), mostAddresses)])
}

// others returns the ranks that one of several tries: all, or those at distances that
// are powers of two, so that each group of hosts is tried from others.
func others(rank, size int) (list []int) {
	for d := 1; d < size; d++ {
		if size <= allTried || d&(d-1) == 0 {
			list = append(list, (rank+d)%size)
		}
	}
	return list
}

// addresses returns those of this host's interfaces, of IPv4 if it has any, as MPI
// libraries prefer it.
func addresses() (list []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var v6 []netip.Addr
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok || !n.IP.IsGlobalUnicast() {
			continue
		}
		switch ip, _ := netip.AddrFromSlice(n.IP); {
		case ip.Unmap().Is4():
			list = append(list, ip.Unmap())
		default:
			v6 = append(v6, ip)
		}
	}
	if len(list) == 0 {
		list = v6
	}
	return list[:min(len(list), mostAddresses)]
}

// try connects to addresses of a host, all at once, at a port of those that programs get.
func try(ctx context.Context, rank int, theirs []netip.Addr) Way {
	answers := make([]bool, len(theirs))
	var all sync.WaitGroup
	for i, a := range theirs {
		all.Go(func() {
			const first, ports = 32768, 28000
			d := net.Dialer{Timeout: answerTimeout}
			conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), strconv.Itoa(first+rand.IntN(ports))))
			if err == nil {
				conn.Close()
			}
			answers[i] = err == nil || errors.Is(err, syscall.ECONNREFUSED)
		})
	}
	all.Wait()
	w := Way{Rank: rank}
	for i, a := range theirs {
		if answers[i] {
			w.Reached = append(w.Reached, a.String())
		} else {
			w.Not = append(w.Not, a.String())
		}
	}
	return w
}
