package exec

import (
	"errors"

	"github.com/hopgate/hopgate/internal/query/plan"
)

var errNotYet = errors.New("operator is not there yet")

func (c *compiler) varExpand(*plan.VarExpand, plan.ColSet) (*stage, error) { return nil, errNotYet }
func (c *compiler) shortestPath(*plan.ShortestPath, plan.ColSet) (*stage, error) {
	return nil, errNotYet
}
func (c *compiler) frontierCount(*plan.FrontierCount, plan.ColSet) (*stage, error) {
	return nil, errNotYet
}
