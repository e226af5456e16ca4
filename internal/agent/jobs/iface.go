package jobs

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/iface"
	"github.com/golaunch/golaunch/internal/overlay"
)

// network is the interface by which the ranks of this node are to talk (--iface).
type network struct {
	choice *iface.Choice // nil where nobody asked, or there is none
	err    error         // why there is none
}

// takeIface finds it. A node without it fails where ranks are to start.
func (re *rankEnv) takeIface() {
	text := re.j.launch.Iface
	if text == "" {
		return
	}
	want, err := iface.Parse(text)
	var all []iface.Interface
	if err == nil {
		all, err = interfaces()
	}
	var choice iface.Choice
	if err == nil {
		choice, err = want.Choose(all)
	}
	if err != nil {
		re.network.err = fmt.Errorf("--iface %s: %w", text, err)
		return
	}
	choice.Devices = rdmaDevices(os.DirFS("/sys"), choice.Name)
	re.network.choice = &choice
	re.j.node.Note(2, "--iface %s: %s, with address %s", text, choice.Name, choice.Addr)
}

// addressEnv tells ranks the address of this node, and the interface that they are to
// use. What the user sets counts more.
func (re *rankEnv) addressEnv(w *world) []string {
	set := re.setFor(w)
	env := iface.HostVariables(re.j.env.address(), set)
	if re.network.choice == nil {
		return env
	}
	if w.byRank[0] != nil && len(w.nodes) > 1 && re.network.choice.Addr.IsLoopback() && !re.j.node.OneMachine() {
		re.j.node.Note(overlay.NoteAlways, "--iface %s: no other host reaches %s, and ranks are on %d hosts", re.j.launch.Iface, re.network.choice.Addr, len(w.nodes))
	}
	env = append(env, re.network.choice.Variables(set)...)
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); w.byRank[0] != nil && set(name) {
			re.j.node.Note(1, "%s is set, and counts more than --iface %s", name, re.j.launch.Iface)
		}
	}
	return env
}

// setFor tells which variables the user sets for ranks of a world.
func (re *rankEnv) setFor(w *world) func(name string) bool {
	users := slices.Clone(re.j.launch.Env)
	for _, app := range w.spec.Apps {
		users = append(users, app.Env...)
	}
	return func(name string) bool {
		return slices.ContainsFunc(users, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
}

// forgetNetwork takes from an environment, which a rank of a world hands over to those that
// it spawns, what it was told of its own node's network: theirs may have other names.
func (re *rankEnv) forgetNetwork(w *world, env []string) []string {
	set := re.setFor(w)
	told := iface.HostVariables(re.j.env.address(), set)
	if c := re.network.choice; c != nil {
		told = append(told, c.Variables(set)...)
	}
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(told, v) && !set(name)
	})
}

// interfaces are those of this node, in the kernel's order.
func interfaces() ([]iface.Interface, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the interfaces: %w", err)
	}
	all := make([]iface.Interface, 0, len(list))
	for _, i := range list {
		one := iface.Interface{Name: i.Name, Up: i.Flags&net.FlagUp != 0}
		addrs, err := i.Addrs()
		if err != nil { // it has gone meanwhile
			continue
		}
		for _, addr := range addrs {
			if p, err := netip.ParsePrefix(addr.String()); err == nil {
				one.Addrs = append(one.Addrs, p)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// rdmaDevices are the RDMA devices to which an interface belongs, with their ports: with
// InfiniBand that of its own device, with RoCE those of which a port's addresses are the
// interface's.
func rdmaDevices(sys fs.FS, name string) (found []string) {
	read := func(file string) string {
		b, _ := fs.ReadFile(sys, file) // what cannot be read is not there
		return strings.TrimSpace(string(b))
	}
	own, _ := fs.Glob(sys, path.Join("class/net", name, "device/infiniband/*"))
	if port, err := strconv.Atoi(read(path.Join("class/net", name, "dev_port"))); err == nil {
		for _, dir := range own {
			found = append(found, fmt.Sprintf("%s:%d", path.Base(dir), port+1))
		}
	}
	devs, _ := fs.Glob(sys, "class/infiniband/*/ports/*/gid_attrs/ndevs/*")
	for _, file := range devs {
		parts := strings.Split(file, "/") // class infiniband DEVICE ports PORT ...
		device := parts[2] + ":" + parts[4]
		if read(file) == name && !slices.Contains(found, device) {
			found = append(found, device)
		}
	}
	return found
}

// address is one at which other nodes reach the job's ranks here: that of the interface that
// they are to use, if they are told of one; else the node's.
func (re *rankEnv) address() string {
	if c := re.j.env.network.choice; c != nil {
		return c.Addr.String()
	}
	return re.j.node.Address()
}
