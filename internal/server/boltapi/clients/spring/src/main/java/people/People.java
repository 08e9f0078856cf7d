package people;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.data.annotation.Version;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.neo4j.core.schema.*;
import org.springframework.data.neo4j.repository.Neo4jRepository;
import org.springframework.data.neo4j.repository.config.EnableNeo4jRepositories;
import org.springframework.data.neo4j.repository.query.Query;
import org.springframework.data.repository.query.Param;

/** Entities and repositories as Spring Data's users write them. */
@SpringBootApplication
@EnableNeo4jRepositories(considerNestedRepositories = true)
public class People {
  @Node
  public static class Person {
    @Id @GeneratedValue public String id;
    @Version public Long version;
    public String name;
    public LocalDate born;
    @Relationship("LIVES_IN") public City city;
    @Relationship("KNOWS") public List<Knows> knows = new ArrayList<>();

    public Person(String name, LocalDate born) {
      this.name = name;
      this.born = born;
    }
  }

  @Node
  public static class City {
    @Id public String name;

    public City(String name) {
      this.name = name;
    }
  }

  @RelationshipProperties
  public static class Knows {
    @RelationshipId public String id;
    public int since;
    @TargetNode public Person person;

    public Knows(Person person, int since) {
      this.person = person;
      this.since = since;
    }
  }

  public record NameOnly(String name) {}

  public interface Persons extends Neo4jRepository<Person, String> {
    Optional<Person> findByName(String name);

    List<Person> findByBornBeforeOrderByName(LocalDate day);

    List<Person> findByCityName(String city);

    List<Person> findByNameContainingIgnoreCase(String part);

    long countByBornAfter(LocalDate day);

    boolean existsByName(String name);

    long deleteByName(String name);

    Page<Person> findAllByOrderByName(Pageable page);

    List<NameOnly> findAllProjectedBy();

    @Query("MATCH (p:Person {name: $name})-[:KNOWS*1..2]->(q:Person) WHERE q <> p RETURN DISTINCT q ORDER BY q.name")
    List<Person> within2(@Param("name") String name);

    @Query("MATCH (p:Person)-[k:KNOWS]->(q) RETURN p, collect(k), collect(q) ORDER BY p.name")
    List<Person> withFriends();
  }
}
