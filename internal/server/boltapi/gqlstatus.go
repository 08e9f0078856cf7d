package boltapi

import (
	"strings"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// conditions holds GQL's description of each status of a Bolt error.
var conditions = map[string]string{
	"08007": "error: connection exception - transaction resolution unknown",
	"08N06": "error: connection exception - protocol error",
	"08N09": "error: connection exception - database unavailable",
	"08N10": "error: connection exception - invalid server state",
	"08N12": "error: connection exception - invalid bookmark",
	"22003": "error: data exception - numeric value out of range",
	"22012": "error: data exception - division by zero",
	"22G03": "error: data exception - invalid value type",
	"22N11": "error: data exception - invalid argument",
	"22N51": "error: data exception - database not found",
	"22N65": "error: data exception - constraint already exists",
	"22N69": "error: data exception - index not found",
	"22N70": "error: data exception - index already exists",
	"22N77": "error: data exception - property presence verification failed",
	"22N79": "error: data exception - property uniqueness constraint violated",
	"25N01": "error: invalid transaction state - invalid combination of statement types",
	"25N11": "error: invalid transaction state - conflicting transactions",
	"25N14": "error: invalid transaction state - transaction termination client error",
	"25N17": "error: invalid transaction state - implicit transaction required",
	"42001": "error: syntax error or access rule violation - invalid syntax",
	"42N02": "error: syntax error or access rule violation - writing in read access mode",
	"42N08": "error: syntax error or access rule violation - no such procedure",
	"42N48": "error: syntax error or access rule violation - no such function",
	"42N51": "error: syntax error or access rule violation - invalid parameter",
	"42N62": "error: syntax error or access rule violation - variable not defined",
	"42NFE": "error: syntax error or access rule violation - credentials expired",
	"42NFF": "error: syntax error or access rule violation - permission/access denied",
	"50N00": "error: general processing exception - internal error",
	"50N05": "error: general processing exception - deadlock detected",
	"50N42": "error: general processing exception - unexpected error",
	"51N59": "error: system configuration or operation exception - internal resource exhaustion",
	"51N66": "error: system configuration or operation exception - resource exhaustion",
	"51N73": "error: system configuration or operation exception - transaction memory limit reached",
}

// statuses maps the codes of errors to statuses where the code is more specific than the kind; a detail after a slash is more specific
// still.
var statuses = map[string]string{
	"Neo.ClientError.Statement.SyntaxError":                                     "42001",
	"Neo.ClientError.Statement.SyntaxError/UndefinedVariable":                   "42N62",
	"Neo.ClientError.Statement.SyntaxError/UnknownFunction":                     "42N48",
	"Neo.ClientError.Procedure.ProcedureNotFound":                               "42N08",
	"Neo.ClientError.Statement.ParameterMissing":                                "42N51",
	"Neo.ClientError.Statement.TypeError":                                       "22G03",
	"Neo.ClientError.Statement.ArgumentError":                                   "22N11",
	"Neo.ClientError.Statement.ArithmeticError":                                 "22003",
	"Neo.ClientError.Statement.ArithmeticError/DivisionByZero":                  "22012",
	"Neo.ClientError.Statement.AccessMode":                                      "42N02",
	"Neo.ClientError.Schema.ConstraintValidationFailed":                         "22N79",
	"Neo.ClientError.Schema.ConstraintValidationFailed/Required":                "22N77",
	"Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists":                  "22N70",
	"Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists/ConstraintExists": "22N65",
	"Neo.ClientError.Schema.IndexNotFound":                                      "22N69",
	"Neo.DatabaseError.Schema.IndexDropFailed":                                  "22N69",
	"Neo.ClientError.Database.DatabaseNotFound":                                 "22N51",
	"Neo.TransientError.General.OutOfMemoryError":                               "51N66",
	"Neo.TransientError.Transaction.Outdated":                                   "25N11",
	"Neo.ClientError.Security.TokenExpired":                                     "42NFE",
	"Neo.ClientError.Request.Invalid":                                           "08N06",
	"Neo.ClientError.Transaction.InvalidBookmark":                               "08N12",
	"Neo.ClientError.Transaction.ForbiddenDueToTransactionType":                 "25N01",
	"Neo.DatabaseError.Transaction.TransactionStartFailed":                      "25N17",
}

const (
	outOfMemory    = "Neo.TransientError.General.OutOfMemoryError" // of the whole server
	requestInvalid = "Neo.ClientError.Request.Invalid"
)

// failureOf converts an error to a failure of the Bolt protocol.
func failureOf(err error) *bolt.Failure {
	e := graph.AsError(err)
	code, detail, gql := wire.Classify(e)
	f := &bolt.Failure{Code: code, Message: e.Error(), Pos: e.Pos, Status: statuses[code+"/"+detail]}
	if f.Status == "" {
		f.Status = statuses[code]
	}
	switch {
	case e.Kind == graph.KindBudget && code != outOfMemory && code != requestInvalid && code != graph.PartiallyCommitted:
		f.Code, f.Status = "Neo.ClientError.General.TransactionOutOfMemoryError", gql // otherwise drivers would retry for a long time
	case e.Kind == graph.KindInternal, e.Kind == graph.KindCorrupt:
		f.Message, f.Status = e.Msg, gql // the cause is only for the log
	case f.Status == "":
		f.Status = gql
	}
	f.Description = conditions[f.Status]
	if f.Status == "08N06" {
		f.Cause = &bolt.Failure{Message: f.Message, Status: "08N10", Description: conditions["08N10"], Class: "CLIENT_ERROR"}
	}
	_, class, _ := strings.Cut(f.Code, ".")
	class, _, _ = strings.Cut(class, ".")
	f.Class = map[string]string{"ClientError": "CLIENT_ERROR", "TransientError": "TRANSIENT_ERROR"}[class]
	if f.Class == "" {
		f.Class = "DATABASE_ERROR"
	}
	return f
}
