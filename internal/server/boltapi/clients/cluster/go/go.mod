module writers

go 1.26

require github.com/neo4j/neo4j-go-driver/v6 v6.2.0
