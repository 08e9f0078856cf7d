package check

import (
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/fn"
)

func (c *checker) callProcedure(cl *ast.CallProcedure, s *scope) {
	p := c.procedure(cl)
	if cl.Implicit && !cl.Standalone {
		fail(invalidArgumentPassingMode, cl, "within a query the arguments of '%s' must be given in parentheses", p.Name)
	}
	if !cl.Implicit {
		c.procedureArgs(cl, p, s)
	}
	if cl.Yield != nil && cl.Yield.Star && !cl.Standalone {
		fail(unexpectedSyntax, cl.Yield, "within a query the results of '%s' must be named; YIELD * is for a call that stands alone", p.Name)
	}
	if cl.Yield != nil {
		c.yield(cl.Yield, p, s)
	}
	if cl.Yield == nil && !cl.Standalone && len(p.Results) > 0 && c.unnamed == nil {
		c.unnamed = func() {
			fail(unexpectedSyntax, cl, "within a query the results of '%s' must be named: CALL … YIELD …", p.Name)
		}
	}
}

// procedure finds the signature of a call.
func (c *checker) procedure(cl *ast.CallProcedure) Procedure {
	p, ok := c.Procedures[strings.ToLower(cl.Name)]
	if ok {
		return p
	}
	var known []string
	if c.ProcedureNames != nil {
		known = c.ProcedureNames()
	}
	panic(failure{graph.ProcedureNotFound(cl.Pos, "there is no procedure '%s'%s", cl.Name, instead(cl.Name, known))})
}

func (c *checker) procedureArgs(cl *ast.CallProcedure, p Procedure, s *scope) {
	least := len(p.Args)
	for least > 0 && p.Args[least-1].Optional {
		least--
	}
	if n := len(cl.Args); n < least || n > len(p.Args) {
		fail(invalidNumberOfArguments, cl, "'%s' takes %s, not %d", p.Name, arity(least, len(p.Args)), n)
	}
	for i, a := range cl.Args {
		if t := c.expr(a, env{scope: s}); !t.canBe(of(p.Args[i].Type)) {
			fail(invalidArgumentType, a, "argument `%s` of '%s' must be %s, not %s", p.Args[i].Name, p.Name, p.Args[i].Type&^fn.Null, t.kinds)
		}
	}
}

func (c *checker) yield(y *ast.Yield, p Procedure, s *scope) {
	if y.Star {
		for _, f := range p.Results {
			c.bind(&ast.Variable{At: y.At, Name: f.Name}, of(f.Type|fn.Null), s)
		}
	}
	for _, i := range y.Items {
		f, ok := find(p.Results, i.Field)
		if !ok {
			known := make([]string, 0, len(p.Results))
			for _, f := range p.Results {
				known = append(known, f.Name)
			}
			fail(undefinedVariable, i, "'%s' gives no `%s`%s", p.Name, i.Field, didYouMean(i.Field, known))
		}
		c.bind(&ast.Variable{At: i.At, Name: i.Name()}, of(f.Type|fn.Null), s)
	}
	c.where(y.Where, s)
}

func find(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}
