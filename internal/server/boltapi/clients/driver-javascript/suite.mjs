// Runs the driver's own integration tests on its sources, and writes the outcome of each into $RESULTS.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const { CACHE, NEO4J_DRIVER_JAVASCRIPT, RESULTS, WORK } = process.env
const cached = createRequire(path.join(CACHE, 'package.json'))
const esbuild = cached('esbuild')
const Jasmine = cached('jasmine')

const packages = path.join(NEO4J_DRIVER_JAVASCRIPT, 'packages')
const files = (dir, pattern) => fs.readdirSync(dir, { recursive: true }).filter(name => pattern.test(name)).map(name => path.join(dir, name))

// The compiled files lie as the driver's build lays them, with the names by which the packages import each other.
async function compile (name, from, to) {
  await esbuild.build({
    entryPoints: files(path.join(packages, name, from), /\.js$|(?<!\.d|\.test)\.ts$/),
    outbase: path.join(packages, name, from),
    outdir: path.join(WORK, 'packages', name, to),
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    logLevel: 'error'
  })
}

function link (name, as) {
  fs.copyFileSync(path.join(packages, name, 'package.json'), path.join(WORK, 'packages', name, 'package.json'))
  fs.symlinkSync(path.join(WORK, 'packages', name), path.join(WORK, 'node_modules', as))
}

fs.mkdirSync(path.join(WORK, 'node_modules'))
await compile('core', 'src', 'lib')
await compile('bolt-connection', 'src', 'lib')
await compile('neo4j-driver', 'src', 'src')
await compile('neo4j-driver', 'src', 'lib')
await compile('neo4j-driver', 'test', 'test')
link('core', 'neo4j-driver-core')
link('bolt-connection', 'neo4j-driver-bolt-connection')
link('neo4j-driver', 'neo4j-driver')

const results = fs.openSync(RESULTS, 'a')
const jasmine = new Jasmine({ projectBaseDir: WORK })
jasmine.exitOnCompletion = false
const { it } = globalThis // a test that waits for a failure that does not come waits its whole time, up to 80 s
globalThis.it = (name, test, limit) => it(name, test, limit && Math.min(limit, 30000))
jasmine.addReporter({
  specDone ({ status, fullName, failedExpectations }) {
    if (status === 'passed') fs.writeSync(results, `pass ${fullName}\n`)
    if (status !== 'failed') return
    fs.writeSync(results, `fail ${fullName}\n`)
    console.log(`${fullName}\n${failedExpectations.map(({ message, stack }) => `  ${message}\n${stack}\n`).join('')}`)
  }
})
const specs = files(path.join(WORK, 'packages', 'neo4j-driver', 'test'), /\.test\.js$/)
  .filter(name => !/\/(browser|node)\//.test(name))
// The tests of the driver's connection timeout connect to an address outside this machine.
const { overallStatus } = await jasmine.execute(specs, '^(?!.* should respect (socket )?connection timeout).*#integration')
process.exit(overallStatus === 'incomplete' ? 1 : 0)
