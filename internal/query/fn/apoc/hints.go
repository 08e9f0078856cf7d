package apoc

import "strings"

// hints say what to use in place of names of APOC that the server does not have, by the beginnings of these names.
var hints = map[string]string{
	"apoc.agg.":                  "aggregates, such as collect()[0], or percentileCont()",
	"apoc.algo.":                 "the algorithms of CALL algo.…, or shortest paths in MATCH",
	"apoc.atomic.":               "SET, whose statement is one transaction",
	"apoc.coll.elements":         "the elements themselves, list[0]",
	"apoc.config.":               "dbms.listConfig()",
	"apoc.convert.fromJsonNode":  "apoc.convert.fromJsonMap()",
	"apoc.convert.getJsonProp":   "apoc.convert.fromJsonMap(n.property)",
	"apoc.create.vPattern":       "apoc.create.vNode() and apoc.create.vRelationship()",
	"apoc.cypher.parallel":       "a statement over UNWIND, which uses idle cores by itself",
	"apoc.cypher.runFirstColumn": "CALL apoc.cypher.run() or COLLECT { … }",
	"apoc.cypher.runMany":        "several statements, or NEXT",
	"apoc.cypher.runSchema":      "the command itself",
	"apoc.cypher.runTimeboxed":   "a time limit of the request",
	"apoc.cypher.runWrite":       "apoc.cypher.doIt()",
	"apoc.diff.":                 "a comparison of properties(a) and properties(b)",
	"apoc.export.":               "a query, whose rows graphctl writes as CSV, JSON, Arrow or Parquet",
	"apoc.graph.":                "the nodes and relationships themselves",
	"apoc.hashing.":              "apoc.util.md5()",
	"apoc.help":                  "SHOW FUNCTIONS and SHOW PROCEDURES",
	"apoc.import.":               "graphctl load",
	"apoc.index.":                "the indexes of CREATE INDEX",
	"apoc.label.exists":          "n:Label",
	"apoc.load.":                 "apoc.load.json(), LOAD CSV or graphctl load",
	"apoc.lock.":                 "MERGE, or SET of a property",
	"apoc.log.":                  "the logs of the client",
	"apoc.map.updateTree":        "a map projection",
	"apoc.merge.":                "MERGE, apoc.merge.node() or apoc.merge.relationship()",
	"apoc.meta.":                 "apoc.meta.schema() or apoc.meta.stats(); for types valueType()",
	"apoc.neighbors.":            "MATCH (n)-[*1..2]-(m)",
	"apoc.node.degree":           "COUNT { (n)--() }",
	"apoc.node.id":               "elementId(n)",
	"apoc.node.labels":           "labels(n)",
	"apoc.node.relationship.":    "EXISTS { (n)-[:TYPE]-() }",
	"apoc.nodes.":                "MATCH with IN",
	"apoc.number.exact.":         "the operators +, -, * and /",
	"apoc.periodic.":             "apoc.periodic.iterate(), apoc.periodic.commit() or CALL { … } IN TRANSACTIONS",
	"apoc.path.":                 "apoc.path.expandConfig(), or MATCH with a variable length; for parts of a path nodes() and relationships()",
	"apoc.refactor.":             "apoc.refactor.mergeNodes(), mergeRelationships() or rename.…, or statements that create, set and delete",
	"apoc.rel.endNode":           "endNode(r)",
	"apoc.rel.id":                "elementId(r)",
	"apoc.rel.startNode":         "startNode(r)",
	"apoc.rel.type":              "type(r)",
	"apoc.schema.":               "SHOW INDEXES and SHOW CONSTRAINTS",
	"apoc.search.":               "db.index.fulltext.queryNodes(), or MATCH",
	"apoc.spatial.":              "point() and point.distance()",
	"apoc.stats.":                "COUNT { (n)--() }",
	"apoc.temporal.":             "apoc.temporal.format()",
	"apoc.text.doubleMetaphone":  "apoc.text.phonetic()",
	"apoc.text.phoneticDelta":    "apoc.text.levenshteinDistance() of phonetic codes",
	"apoc.text.toCypher":         "apoc.convert.toString()",
	"apoc.trigger.":              "a statement of the client after its write",
	"apoc.ttl.":                  "expiry of nodes (TTL)",
	"apoc.util.":                 "apoc.util.md5(), sha1(), sha256(), sleep() or validate()",
	"apoc.uuid.":                 "randomUUID()",
	"apoc.warmup.":               "nothing: the caches fill by themselves",
	"apoc.xml.":                  "graphctl load, which reads GraphML and GEXF",
}

// Hint says what to use in place of a name of APOC that the server does not have, or "".
func Hint(name string) string {
	name = strings.ToLower(name)
	best, hint := "", ""
	for prefix, use := range hints {
		if strings.HasPrefix(name, strings.ToLower(prefix)) && len(prefix) > len(best) {
			best, hint = prefix, use
		}
	}
	return hint
}
