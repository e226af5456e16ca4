package launcher

import (
	"fmt"
	"strings"
)

// stepNames returns srun's variables of a whole step that programs ask for: its nodes,
// and the number of ranks on each.
func stepNames(p *Plan) []string {
	counts := p.holders()
	var each []string
	for _, h := range p.Blocks.hosts() {
		each = append(each, fmt.Sprint(counts[p.Hosts[h].Name]))
	}
	nodes, perNode := fmt.Sprint(len(each)), repeats(each)
	return []string{
		"SLURM_NNODES=" + nodes, "SLURM_STEP_NUM_NODES=" + nodes, "SLURM_STEP_NODELIST=" + p.nodeNames(),
		"SLURM_TASKS_PER_NODE=" + perNode, "SLURM_STEP_TASKS_PER_NODE=" + perNode,
	}
}

// repeats writes a list as Slurm does: 3(x2),1.
func repeats(list []string) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j] == list[i] {
			j++
		}
		part := list[i]
		if j-i > 1 {
			part = fmt.Sprintf("%s(x%d)", part, j-i)
		}
		parts = append(parts, part)
		i = j
	}
	return strings.Join(parts, ",")
}
