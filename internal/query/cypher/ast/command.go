package ast

// Schema names what an index or a constraint is on: properties of nodes with a label or of relationships with a type.
type Schema struct {
	At
	Relationship bool
	Variable     string
	Labels       []string // one, except for full-text indexes; none for a lookup index
	Properties   []string
}

// IndexKind is the kind of an index.
type IndexKind uint8

// The index kinds.
const (
	IndexRange IndexKind = iota
	IndexText
	IndexPoint
	IndexLookup
	IndexFulltext
	IndexVector
)

// CreateIndex is CREATE [kind] INDEX [name] [IF NOT EXISTS] FOR … ON … [WITH […]] [OPTIONS map], and CREATE INDEX ON :Label(property).
type CreateIndex struct {
	At
	Name        string     // or empty: a name is generated
	NameParam   *Parameter // in place of Name, or nil
	Kind        IndexKind
	IfNotExists bool
	Schema      *Schema
	With        []string // of a vector index: the properties that searches may have conditions on
	Options     Expr     // *MapLit, *Parameter or nil
}

// DropIndex is DROP INDEX name [IF EXISTS], or DROP INDEX ON :Label(property), which has no name but a schema.
type DropIndex struct {
	At
	Name      string
	NameParam *Parameter // in place of Name, or nil
	IfExists  bool
	Schema    *Schema // or nil
}

// ConstraintKind is the kind of a constraint.
type ConstraintKind uint8

// The constraint kinds.
const (
	ConstraintUnique  ConstraintKind = iota // IS UNIQUE
	ConstraintKey                           // IS NODE KEY, IS RELATIONSHIP KEY: unique and not null
	ConstraintNotNull                       // IS NOT NULL
	ConstraintType                          // IS :: type
)

// CreateConstraint is CREATE CONSTRAINT [name] [IF NOT EXISTS] FOR … REQUIRE … [OPTIONS map].
type CreateConstraint struct {
	At
	Name        string     // or empty: a name is generated
	NameParam   *Parameter // in place of Name, or nil
	Kind        ConstraintKind
	IfNotExists bool
	Schema      *Schema
	Type        *Type // ConstraintType
	Options     Expr  // *MapLit, *Parameter or nil
}

// DropConstraint is DROP CONSTRAINT name [IF EXISTS].
type DropConstraint struct {
	At
	Name      string
	NameParam *Parameter // in place of Name, or nil
	IfExists  bool
}

// AlterName is CREATE LABEL name [IF NOT EXISTS] [OPTIONS map], ALTER LABEL name SET OPTIONS map, or ALTER LABEL name REMOVE
// TTL; RELATIONSHIP TYPE instead of LABEL applies to a type.
type AlterName struct {
	At
	Relationship bool
	Name         string
	Create       bool
	IfNotExists  bool
	Remove       bool
	Options      Expr // *MapLit, *Parameter or nil
}

// CreateGraph is CREATE [OR REPLACE] GRAPH name [IF NOT EXISTS] [OPTIONS map]; DATABASE is a synonym of GRAPH.
type CreateGraph struct {
	At
	Name        string
	OrReplace   bool
	IfNotExists bool
	Options     Expr // *MapLit, *Parameter or nil
}

// AlterGraph is ALTER GRAPH name [IF EXISTS] SET OPTION option value, or REMOVE OPTION option.
type AlterGraph struct {
	At
	Name     string
	IfExists bool
	Option   string
	Value    Expr // nil: REMOVE
}

// DropGraph is DROP GRAPH name [IF EXISTS].
type DropGraph struct {
	At
	Name     string
	IfExists bool
}

// CreateSnapshot is CREATE SNAPSHOT name [IF NOT EXISTS] [EXPIRES duration or time].
type CreateSnapshot struct {
	At
	Name        string
	NameParam   *Parameter // in place of the name
	IfNotExists bool
	Expires     Expr // *StringLit, *Parameter, a *Call of duration or datetime, or nil
}

// DropSnapshot is DROP SNAPSHOT name [IF EXISTS].
type DropSnapshot struct {
	At
	Name      string
	NameParam *Parameter // in place of the name
	IfExists  bool
}

// Name is a name with its position.
type Name struct {
	At
	Name string
}

// PrivilegeElements is the kind of elements that a privilege is about.
type PrivilegeElements uint8

// The kinds.
const (
	PrivilegeAll PrivilegeElements = iota // nodes and relationships
	PrivilegeNodes
	PrivilegeRelationships
)

// Privilege is GRANT or DENY action ON graph elements [WITH CHECK] TO roles, or REVOKE [GRANT | DENY] action ON graph elements [WITH CHECK]
// FROM roles. A map in the pattern of FOR is a condition too.
type Privilege struct {
	At
	Revoke    bool
	Effect    string  // GRANT or DENY; "" with Revoke: both
	Action    string  // in capitals: TRAVERSE, SET LABEL, …
	Resources []*Name // its properties, or labels; none: all
	Graph     string  // "": HOME GRAPH
	Elements  PrivilegeElements
	Names     []*Name // labels, or types; none: all
	Variable  string  // in Where; "" without it
	Where     Expr    // of FOR, or nil
	Check     bool
	Roles     []*Name // at least one
}

// OfProperties reports whether the action names properties.
func (p *Privilege) OfProperties() bool {
	return p.Action == "READ" || p.Action == "MATCH" || p.Action == "SET PROPERTY"
}

// OfElements reports whether the action may be limited to some elements.
func (p *Privilege) OfElements() bool {
	return p.Action != "SET LABEL" && p.Action != "REMOVE LABEL" && p.Action != "WRITE"
}

// ShowKind is what a SHOW command lists.
type ShowKind uint8

// The lists.
const (
	ShowIndexes ShowKind = iota
	ShowConstraints
	ShowGraphs
	ShowFunctions
	ShowProcedures
	ShowTransactions
	ShowLabels
	ShowTypes
	ShowUser // SHOW CURRENT USER
	ShowUsers
	ShowRoles
	ShowPrivileges
	ShowSettings
	ShowDatabases  // the graphs, as Neo4j lists databases
	ShowTerminated // TERMINATE TRANSACTIONS: the terminated ones
	ShowSnapshots
	ShowPrivilegeCommands // SHOW PRIVILEGES AS COMMANDS
	ShowRevokeCommands    // SHOW PRIVILEGES AS REVOKE COMMANDS
)

// Show is SHOW [filter] list [names] [YIELD … | WHERE …] [RETURN …], or TERMINATE TRANSACTION[S] ids [YIELD …] [RETURN …].
type Show struct {
	At
	Kind   ShowKind
	Filter string      // in capitals: ALL, RANGE, UNIQUE, BUILT IN, …; or empty
	Names  []Expr      // ids of transactions; SHOW GRAPH name as a *StringLit; settings; roles or users of SHOW PRIVILEGES
	Yield  *Projection // or nil; its items are the requested columns
	Where  Expr        // or nil
	Return *Return     // or nil
}

func (*CreateIndex) body()      {}
func (*DropIndex) body()        {}
func (*CreateConstraint) body() {}
func (*DropConstraint) body()   {}
func (*AlterName) body()        {}
func (*CreateGraph) body()      {}
func (*AlterGraph) body()       {}
func (*DropGraph) body()        {}
func (*CreateSnapshot) body()   {}
func (*DropSnapshot) body()     {}
func (*Privilege) body()        {}
func (*Show) body()             {}
