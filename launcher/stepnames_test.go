package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStepNames(t *testing.T) {
	p, err := NewPlan(options(t, "n[1-4]:3,x:1,y", 14), "here")
	require.NoError(t, err)
	require.Equal(t, []string{
		"SLURM_NNODES=6", "SLURM_STEP_NUM_NODES=6", "SLURM_STEP_NODELIST=n[1-4],x,y",
		"SLURM_TASKS_PER_NODE=3(x4),1(x2)", "SLURM_STEP_TASKS_PER_NODE=3(x4),1(x2)",
	}, stepNames(p))
}
