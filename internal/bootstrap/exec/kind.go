package execboot

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// The flags, and where the second says that the command works.
const (
	commandOption = "exec-command"
	fromOption    = "exec-from"
	fromLauncher  = "launcher" // as where nothing is said
	fromNodes     = "nodes"
)

// Kind returns this bootstrap's entry for the registry.
func Kind() bootstrap.Kind {
	k := kind("exec", "--"+commandOption, func(v bootstrap.Values) string { return v[commandOption] })
	k.Options = []bootstrap.Option{
		{Name: commandOption, Help: "`COMMAND` of exec, as in 'docker exec -i {host} {command}'", Own: true},
		{Name: fromOption, Help: "run COMMAND at `PLACE`: launcher; or nodes, if it works there too",
			Choices: []string{fromLauncher, fromNodes}, Own: true},
	}
	k.Check = check
	k.Widen = "--" + fromOption + "=" + fromNodes
	k.FromEnvironment = fromOperator
	return k
}

// The presets: exec with a command that is known.

// Docker starts agents in containers of Docker's.
func Docker() bootstrap.Kind { return preset("docker", "docker exec -i {host} {command}") }

// Podman starts agents in containers of Podman's.
func Podman() bootstrap.Kind { return preset("podman", "podman exec -i {host} {command}") }

// Kubectl starts agents in pods of Kubernetes.
func Kubectl() bootstrap.Kind { return preset("kubectl", "kubectl exec -i {host} -- {command}") }

// Srun starts each agent by an srun of its own, in an allocation of Slurm.
func Srun() bootstrap.Kind {
	return preset("srun", "srun --unbuffered --nodelist={host} --nodes=1 --ntasks=1 --overlap --mpi=none --cpu-bind=none --export=ALL --quiet {command}")
}

// LSF starts agents in a job of LSF.
func LSF() bootstrap.Kind { return preset("lsf", "blaunch -no-shell {host} {command}") }

// PBS starts agents in a job of PBS.
func PBS() bootstrap.Kind { return preset("pbs", "pbs_tmrsh {host} {command}") }

func preset(name, command string) bootstrap.Kind {
	says := fmt.Sprintf("--bootstrap %s (%s)", name, command)
	return kind(name, says, func(bootstrap.Values) string { return command })
}

// kind returns the entry of a bootstrap by a command, which the flags may have. says is
// the user's choice, for messages.
func kind(name, says string, command func(bootstrap.Values) string) bootstrap.Kind {
	return bootstrap.Kind{
		Name:    name,
		Orphans: true,
		CheckHosts: func(_ func(string) string, v bootstrap.Values, hosts []job.Host) error {
			return checkHosts(says, command(v), hosts)
		},
		Container: func(v bootstrap.Values) bool {
			t, err := Parse(command(v))
			return err == nil && t.entersContainer()
		},
		Reach: reach,
		Open: func(ctx context.Context, j bootstrap.Job) (*bootstrap.Opened, error) {
			return open(ctx, setup{Command: command(j.Values), FromNodes: reach(j.Values) == bootstrap.Anywhere}, j)
		},
		Join: join,
	}
}

func check(v bootstrap.Values) error {
	if v[commandOption] == "" {
		return errors.New("--bootstrap exec: say how with --exec-command, such as 'docker exec -i {host} {command}'")
	}
	_, err := template(v[commandOption])
	return err
}

func template(command string) (*Template, error) {
	t, err := Parse(command)
	if err != nil {
		return nil, fmt.Errorf("--exec-command: %w", err)
	}
	return t, nil
}

// checkHosts checks that the template takes the values of every host, and no others.
func checkHosts(says, command string, hosts []job.Host) error {
	t, err := template(command)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if err := t.Check(h.User, h.Port); err != nil {
			return fmt.Errorf("%s: %s: host %s: %w", says, h.Pos, h.Name, err)
		}
	}
	return nil
}

// reach is LauncherOnly unless the user gave their word for the nodes.
func reach(v bootstrap.Values) bootstrap.Reach {
	if v[fromOption] == fromNodes {
		return bootstrap.Anywhere
	}
	return bootstrap.LauncherOnly
}

// setup is the message for agents.
type setup struct {
	Command   string `cbor:"1,keyasint"` // the template
	FromNodes bool   `cbor:"2,keyasint"`
	Here      string `cbor:"3,keyasint,omitempty"` // the host that needs no command
}

// open reads the template, and resolves the names if it asks for addresses.
func open(ctx context.Context, s setup, j bootstrap.Job) (*bootstrap.Opened, error) {
	t, err := template(s.Command)
	if err != nil {
		return nil, err
	}
	o := &bootstrap.Opened{Piper: s.piper(t, j.Limits)}
	if t.Uses("addr") {
		o.Routes = routes(ctx, j.Hosts)
	}
	o.Setup, err = bootstrap.Pack(s)
	return o, err
}

// routes returns the addresses of the hosts whose names resolve here. That one does not
// is an error of its host.
func routes(ctx context.Context, hosts []job.Host) []bootstrap.Route {
	questions := make([]bootstrap.Question, len(hosts))
	for i, h := range hosts {
		questions[i] = bootstrap.Question{Network: "ip", Name: h.Name}
	}
	ctx, cancel := context.WithTimeout(ctx, bootstrap.LookUpTimeout)
	defer cancel()
	answers, _ := bootstrap.LookUp(ctx, questions, net.DefaultResolver.LookupNetIP) // its error is that the time is up
	found := make([]bootstrap.Route, len(hosts))
	for i, addr := range answers {
		found[i].Addr = addr
	}
	return found
}

// lookUp resolves a name that did not when the job began; "" where it still does not.
func lookUp(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, bootstrap.LookUpTimeout)
	defer cancel()
	answers, _ := bootstrap.LookUp(ctx, []bootstrap.Question{{Network: "ip", Name: name}}, net.DefaultResolver.LookupNetIP) // as in routes
	return answers[0]
}

// join returns the side of an agent.
func join(n bootstrap.Node) (bootstrap.Piper, error) {
	s, err := bootstrap.Unpack[setup](n.Setup)
	if err != nil {
		return nil, err
	}
	t, err := Parse(s.Command)
	if err != nil {
		return nil, err
	}
	return s.piper(t, n.Limits), nil
}

func (s setup) piper(t *Template, l bootstrap.Limits) *Piper {
	return New(Config{Template: t, FromNodes: s.FromNodes, Here: s.Here, Silence: l.ConnectTimeout})
}
