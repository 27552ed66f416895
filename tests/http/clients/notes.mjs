// The story of the notes, had by the official TypeScript client: node notes.mjs URL TOKEN
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, token] = process.argv.slice(2);
let yes = false; // what the person answers
const client = new Client(
  { name: "typescript", version: "1" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
);
client.setRequestHandler("elicitation/create", async (request) => {
  console.log(`asked: ${request.params.message}`);
  return { action: "accept", content: { yes } };
});
const headers = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

async function call(name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  console.log(`${name}${result.isError ? " failed" : ""}: ${result.content[0].text}`);
}

console.log((await client.listTools()).tools.map((tool) => tool.name).join(", "));
await call("add_note", { text: "milk" });
await call("add_note", { text: "bread and milk" });
await call("search_notes", { word: "milk" });
await call("clear_notes");
yes = true;
await call("clear_notes");
await call("search_notes", { word: "milk" });
await client.close();
