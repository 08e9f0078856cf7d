package plan

// OnError is the reaction to the failure of a transaction.
type OnError uint8

// The reactions.
const (
	OnErrorFail     OnError = iota // the statement fails; committed changes stay
	OnErrorContinue                // the next transaction begins
	OnErrorBreak                   // nothing more runs
)

// Transactions runs Sub for each row as Apply does, Rows rows (nil: 1,000) in a write transaction of their own, which commits before
// the next begins. Input reads the statement's snapshot and is read to its end before the first transaction; the operators above see
// a snapshot with all the transactions. A row of a transaction that failed or did not begin appears once, with nulls in Cols. Unit
// says that Sub returns nothing: each row appears once. Report (or 0) is a map that describes the outcome of the row's transaction.
// Batched is as in Apply.
type Transactions struct {
	Input, Sub Node
	Rows       Expr
	OnError    OnError
	Cols       []Col
	Unit       bool
	Report     Col
	Batched    bool
}

func (n *Transactions) inputs(f func(*Node)) {
	f(&n.Input)
	f(&n.Sub)
}

func (n *Transactions) exprs(f exprVisitor) { f.one(&n.Rows) }

func (n *Transactions) describe(f *formatter) (name, args string) {
	return "Transactions", f.transactions(n)
}

func (n *Transactions) rows(e *Estimator, _ float64) float64 {
	in := e.of(n.Input)
	return e.sub(n.Sub, in)
}

// OwnTransactions reports whether the plan commits by itself.
func (q *Query) OwnTransactions() bool {
	found := false
	var visit func(*Node)
	visit = func(n *Node) {
		switch n := (*n).(type) {
		case *Transactions:
			found = true
		case *CallProc:
			found = found || n.Own
		}
		(*n).inputs(visit)
	}
	visit(&q.Root)
	return found
}

func (f *formatter) transactions(n *Transactions) string {
	s := "OF " + f.optional(n.Rows) + " ROWS"
	if n.Rows == nil {
		s = "OF 1000 ROWS"
	}
	s += [...]string{"", " ON ERROR CONTINUE", " ON ERROR BREAK"}[n.OnError]
	if n.Batched {
		s += " BATCHED"
	}
	if n.Report != 0 {
		s += " REPORT " + f.col(n.Report)
	}
	return s
}
