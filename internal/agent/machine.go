package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/network/topology/node"
)

// sysfs is where Linux tells of the inside of a host.
const sysfs = "/sys/devices/system"

// room notes for how many ranks this host has what they are to be bound to.
func (m *machine) room(n *overlay.NodeInfo) {
	choice, err := binding.Parse(m.n.common.BindTo)
	if err == nil && (!choice.Binds() || choice.ByGPU()) { // as many ranks as have GPUs
		return
	}
	var room overlay.Room
	var host *binding.Host
	if err == nil {
		host, err = m.host(choice.Local())
	}
	if err == nil {
		room.Ranks, room.Has, err = host.Room(choice)
	}
	if err != nil {
		room.None = err.Error()
	}
	room.Has, room.None = overlay.CutWhy(room.Has), overlay.CutWhy(room.None)
	n.Room = &room
}

// host is what this host has for ranks. Where numbers of CPUs are enough, it does not
// matter that its inside can't be read. One that Linux does not show, as in some
// containers, is not known.
func (m *machine) host(enough bool) (*binding.Host, error) {
	ours, err := unix.Affinity(0)
	if err != nil {
		return nil, err
	}
	if m.processors == nil {
		n, err := node.FromSysfs(os.DirFS(sysfs))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !enough {
			return nil, fmt.Errorf("%s: %w; use --bind-to cpu-list:LIST, or none", sysfs, err)
		}
		m.processors = n
	}
	return binding.New(m.processors, ours), nil
}

// memFile makes a file in memory, unless there is one of that name, and returns its path.
func (m *machine) memFile(name string, contents []byte) (path string, err error) {
	file := m.memFiles[name]
	if file == nil {
		if file, err = unix.MemFile(name, contents); err != nil {
			return "", err
		}
		if m.memFiles == nil {
			m.memFiles = map[string]*os.File{}
		}
		m.memFiles[name] = file
	}
	return unix.DescriptorPath(file), nil
}

// ownFiles is the number of files that an agent may have open before it has ranks, but for
// those of its links.
const ownFiles = 32

// needFiles has the agent be able to have so many files open for a job, beside those of its
// links, of other jobs, and some of its own.
func (m *machine) needFiles(n job.Number, files int) {
	if m.files == nil {
		m.files = map[job.Number]int{}
	}
	m.files[n] = files
	const perLink, perJob = 4, 4 // of the first job they are the agent's own
	want := ownFiles + perLink*m.n.subtree.Degree() + perJob*(len(m.files)-1)
	for _, files := range m.files {
		want += files
	}
	m.tooFew = unix.NeedFiles(uint64(want), fmt.Sprintf("the agent of %d ranks", m.n.jobs.living()))
}
