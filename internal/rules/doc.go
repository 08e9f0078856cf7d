// Package rules says what callers may see and change of a graph: rules by label, type, property and condition, as openCypher's
// GRANT and DENY state them, and the policy that the rules of a caller's roles make together.
//
//	GRANT … TO role ─ Rule ─┐
//	roles and claims ───────┴─ New ─ Policy ─ shard/restricted applies it to each request of a transaction
//
// A rule grants or denies an action on vertices or edges with one of some names, or any, whose properties meet a condition. An action is
// permitted if a rule grants it and none denies it. A vertex that may not be traversed is hidden with its edges; an edge too, if its
// type may not be traversed. A property that may not be read is null. A condition that is unknown, because it compares null, does not
// hold, so that its rule neither grants nor denies; a claim that the caller lacks makes a granting rule void and a denying one
// unconditional.
package rules
