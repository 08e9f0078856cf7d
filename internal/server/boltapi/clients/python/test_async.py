"""The driver's other half: the same connections under asyncio, and cancellation."""
import asyncio
import os

import neo4j
import pytest


def run(work):
    async def main():
        async with neo4j.AsyncGraphDatabase.driver("neo4j://" + os.environ["BOLT"], auth=("neo4j", "any")) as driver:
            return await work(driver)

    return asyncio.run(main())


def test_query():
    async def work(driver):
        await driver.verify_connectivity()
        return (await driver.execute_query("UNWIND range(1, 3000) AS i RETURN i")).records

    assert [r["i"] for r in run(work)] == list(range(1, 3001))


def test_managed(label):
    async def work(driver):
        async def create(tx, i):
            await (await tx.run(f"CREATE (:{label} {{i: $i}})", i=i)).consume()

        async def one(i):
            async with driver.session() as session:
                await session.execute_write(create, i)

        await asyncio.gather(*(one(i) for i in range(40)))
        return (await driver.execute_query(f"MATCH (n:{label}) RETURN count(n) AS n, sum(n.i) AS sum")).records[0].data()

    assert run(work) == {"n": 40, "sum": 780}


def test_results_side_by_side():
    async def work(driver):
        async with driver.session() as session, await session.begin_transaction() as tx:
            a = await tx.run("UNWIND range(1, 5000) AS i RETURN i")
            b = await tx.run("UNWIND range(1, 5) AS i RETURN i")
            first = await b.value()
            return first, len([r async for r in a])

    assert run(work) == ([1, 2, 3, 4, 5], 5000)


@pytest.mark.parametrize("transaction", [True, False])
def test_cancel(label, transaction):
    """A task that is cancelled while its statement runs takes the statement with it; the driver goes on."""
    endless = neo4j.Query("UNWIND range(1, 100000000) AS a WITH a WHERE a < 0 RETURN count(*)", metadata={"job": label}) \
        if not transaction else "UNWIND range(1, 100000000) AS a WITH a WHERE a < 0 RETURN count(*)"

    async def work(driver):
        async def forever():
            async with driver.session() as session:
                if transaction:
                    async with await session.begin_transaction(metadata={"job": label}) as tx:
                        await (await tx.run(endless)).consume()
                else:
                    await (await session.run(endless)).consume()

        async def running():
            rows = (await driver.execute_query("SHOW TRANSACTIONS YIELD metaData, currentQuery")).records
            return any(r["metaData"] == {"job": label} for r in rows)

        task = asyncio.create_task(forever())
        while not await running():
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while await running():
            pass
        return (await driver.execute_query("RETURN 1")).records[0][0]

    assert run(work) == 1
