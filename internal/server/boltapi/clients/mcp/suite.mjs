// The tools by the SDK for TypeScript, over HTTP and over graphctl mcp. Writes "pass NAME" or "fail NAME" for each test.
import assert from 'node:assert/strict'
import {Client} from '@modelcontextprotocol/sdk/client/index.js'
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js'
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const {HTTP, GRAPHCTL, GRAPHCTL_ADDRESS} = process.env
const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(`http://${HTTP}/mcp?profile=reader`)),
  stdio: () => new StdioClientTransport({command: GRAPHCTL, args: ['mcp', '--profile', 'reader', '--address', GRAPHCTL_ADDRESS]}),
}
const tests = {
  async tools(client) {
    const {tools} = await client.listTools()
    assert.deepEqual(tools.map(t => t.name).sort(), ['explain', 'get-schema', 'hybrid-search', 'read-cypher', 'sample'])
    assert.ok(tools.every(t => t.annotations.readOnlyHint))
  },
  async pages(client) {
    const args = {query: 'MATCH (p:Person) RETURN p.id AS id, p.firstName AS name ORDER BY id', maxTokens: 300}
    const ids = []
    for (;;) {
      const {content, isError} = await client.callTool({name: 'read-cypher', arguments: args})
      assert.ok(!isError, content[0].text)
      const page = JSON.parse(content[0].text)
      ids.push(...page.rows.map(r => r[0]))
      if (!page.truncated) break
      args.cursor = page.cursor
    }
    assert.deepEqual(ids, Array.from({length: 300}, (_, i) => i + 1))
  },
  async refusal(client) {
    const {content, isError} = await client.callTool({name: 'read-cypher', arguments: {query: 'MATCH (n) DETACH DELETE n'}})
    assert.ok(isError)
    assert.match(content[0].text, /AccessMode/)
  },
  async resource(client) {
    const {contents} = await client.readResource({uri: 'hopgate://schema/full'})
    assert.match(contents[0].text, /\(:Person\)-\[:KNOWS\]->\(:Person\)/)
  },
}
for (const [name, transport] of Object.entries(transports)) {
  for (const [test, run] of Object.entries(tests)) {
    const client = new Client({name: 'suite', version: '1'})
    try {
      await client.connect(transport())
      await run(client)
      console.log(`pass ${name} ${test}`)
    } catch (e) {
      console.error(e)
      console.log(`fail ${name} ${test}`)
    } finally {
      await client.close()
    }
  }
}
