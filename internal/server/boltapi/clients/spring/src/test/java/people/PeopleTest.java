package people;

import static org.junit.jupiter.api.Assertions.*;

import java.time.LocalDate;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.data.domain.*;
import org.springframework.data.neo4j.core.Neo4jClient;
import org.springframework.data.neo4j.core.Neo4jTemplate;
import org.springframework.transaction.support.TransactionTemplate;
import people.People.*;

@SpringBootTest
class PeopleTest {
  @Autowired Persons persons;
  @Autowired Neo4jTemplate template;
  @Autowired Neo4jClient client;
  @Autowired TransactionTemplate transaction;

  @BeforeEach
  void fill() {
    client.query("MATCH (n) DETACH DELETE n").run();
    var ann = new Person("Ann", LocalDate.of(1980, 1, 2));
    var bo = new Person("Bo", LocalDate.of(1990, 3, 4));
    var cy = new Person("Cy", LocalDate.of(2000, 5, 6));
    ann.city = new City("Lund");
    bo.city = new City("Oslo");
    ann.knows.add(new Knows(bo, 2010));
    bo.knows.add(new Knows(cy, 2015));
    persons.save(ann);
  }

  static List<String> names(List<Person> ps) {
    return ps.stream().map(p -> p.name).toList();
  }

  @Test
  void savesAndFindsWhatHangsOnIt() {
    var ann = persons.findByName("Ann").orElseThrow();
    assertEquals("Lund", ann.city.name);
    assertEquals(2010, ann.knows.get(0).since);
    assertEquals("Cy", ann.knows.get(0).person.knows.get(0).person.name);
    assertEquals(ann.id, persons.findById(ann.id).orElseThrow().id);
    assertEquals(3, persons.findAllById(persons.findAll().stream().map(p -> p.id).toList()).size());
  }

  @Test
  void derivesQueries() {
    assertEquals(List.of("Ann", "Bo"), names(persons.findByBornBeforeOrderByName(LocalDate.of(1995, 1, 1))));
    assertEquals(List.of("Bo"), names(persons.findByCityName("Oslo")));
    assertEquals(List.of("Cy"), names(persons.findByNameContainingIgnoreCase("cY")));
    assertEquals(1, persons.countByBornAfter(LocalDate.of(1995, 1, 1)));
    assertTrue(persons.existsByName("Bo"));
    assertEquals(3, persons.count());
  }

  @Test
  void sortsAndPages() {
    var page = persons.findAllByOrderByName(PageRequest.of(1, 2));
    assertEquals(List.of("Cy"), names(page.getContent()));
    assertEquals(3, page.getTotalElements());
    assertEquals(List.of("Cy", "Bo", "Ann"), names(persons.findAll(Sort.by("name").descending())));
  }

  @Test
  void findsByExample() {
    var probe = new Person("Bo", null);
    assertEquals(List.of("Bo"), names(persons.findAll(Example.of(probe, ExampleMatcher.matching().withIgnorePaths("knows", "version")))));
  }

  @Test
  void projects() {
    assertEquals(List.of("Ann", "Bo", "Cy"), persons.findAllProjectedBy().stream().map(NameOnly::name).sorted().toList());
  }

  @Test
  void runsOwnQueries() {
    assertEquals(List.of("Bo", "Cy"), names(persons.within2("Ann")));
    assertEquals(List.of("Ann", "Bo"), names(persons.withFriends()));
    assertEquals(2, persons.withFriends().get(0).knows.size() + persons.withFriends().get(1).knows.size());
    assertEquals(3L, template.count("MATCH (p:Person) RETURN count(p)"));
  }

  @Test
  void updatesAndChecksVersions() {
    var one = persons.findByName("Ann").orElseThrow();
    var other = persons.findByName("Ann").orElseThrow();
    one.name = "Anna";
    one.knows.clear();
    persons.save(one);
    assertTrue(persons.findByName("Anna").orElseThrow().knows.isEmpty());
    other.name = "Anne";
    assertThrows(OptimisticLockingFailureException.class, () -> persons.save(other));
  }

  @Test
  void deletes() {
    assertEquals(1, persons.deleteByName("Cy"));
    persons.delete(persons.findByName("Bo").orElseThrow());
    assertEquals(List.of("Ann"), names(persons.findAll()));
    persons.deleteAll();
    assertEquals(0, persons.count());
  }

  @Test
  void rollsBack() {
    assertThrows(IllegalStateException.class, () -> transaction.executeWithoutResult(status -> {
      persons.save(new Person("Di", null));
      assertEquals(4, persons.count());
      throw new IllegalStateException();
    }));
    assertEquals(3, persons.count());
  }

  @Test
  void keepsConstraints() {
    client.query("CREATE CONSTRAINT person_name IF NOT EXISTS FOR (p:Person) REQUIRE p.name IS UNIQUE").run();
    try {
      assertThrows(DataIntegrityViolationException.class, () -> persons.save(new Person("Ann", null)));
    } finally {
      client.query("DROP CONSTRAINT person_name").run();
    }
  }

  @Test
  void savesManyAtOnce() {
    persons.saveAll(java.util.stream.IntStream.range(0, 500).mapToObj(i -> new Person("P" + i, LocalDate.of(2000, 1, 1).plusDays(i))).toList());
    assertEquals(503, persons.count());
  }
}
