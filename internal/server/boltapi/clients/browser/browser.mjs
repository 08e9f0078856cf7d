// Serves the suite as a page, opens it in a browser, and writes down what the page reports: node browser.mjs PROGRAM
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const page = `<!doctype html><meta charset="utf-8"><script type="module">
import neo4j from "/driver.js";
import { run } from "/suite.mjs";
const post = (report) => fetch("/report", { method: "POST", body: JSON.stringify(report) });
addEventListener("error", (e) => post({ error: String(e.message) }));
const reports = [];
await run(neo4j, ${JSON.stringify(process.env.BOLT)}, (outcome, name, error) => reports.push({ outcome, name, error: error && String(error) }));
await post({ reports });
</script>`;
const files = {
  "/": ["text/html", page],
  "/suite.mjs": ["text/javascript", readFileSync("../javascript/suite.mjs")],
  "/driver.js": ["text/javascript", readFileSync(process.env.CACHE + "/node_modules/neo4j-driver/lib/browser/neo4j-web.esm.min.js")],
};

let browser, done = false;
const server = createServer(async (request, response) => {
  if (request.method === "POST") {
    let body = "";
    for await (const chunk of request) body += chunk;
    response.end();
    const { reports = [], error } = JSON.parse(body);
    for (const r of reports) {
      appendFileSync(process.env.RESULTS, `${r.outcome} ${r.name}\n`);
      if (r.error) console.log(`${r.name}: ${r.error}`);
    }
    if (error) console.log(error);
    done = !error;
    browser.kill();
    return;
  }
  const [type, content] = files[request.url] ?? [];
  response.writeHead(type ? 200 : 404, { "Content-Type": type ?? "text/plain" }).end(content);
});
server.listen(0, "127.0.0.1", () => {
  browser = spawn(process.argv[2], ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
    `--user-data-dir=${process.env.WORK}/profile`, `http://127.0.0.1:${server.address().port}/`], { stdio: "inherit" });
  browser.on("exit", () => process.exit(done ? 0 : 1));
});
