// @ts-check
// The form that sends a test record, which the brokers trace.

import { html, useState } from "../vendor/preact.js";
import { post } from "../api.js";
import { Button, ErrorLine, Field, Note } from "../parts/index.js";

/** @param {{ start: Answer.FlowStart, writes: boolean, onSent: Call }} props */
export function Sender({ start, writes, onSent }) {
  const [topic, setTopic] = useState(start.topics[0]?.name ?? "");
  const [partition, setPartition] = useState(0);
  const [acks, setAcks] = useState("all");
  const [value, setValue] = useState("hello");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const chosen = start.topics.find((one) => one.name === topic);
  if (!writes) {
    return html`<${Note}>
      This console is read-only. To send a record here, start it with <code>--allow-writes</code>.
      Or run any client with <code>client.id=ottla-trace-me</code>.
    <//>`;
  }
  if (start.topics.length === 0)
    return html`<${Note}>
      The cluster has no topic. Create a topic: <code>ottla topic create orders</code>
    <//>`;
  async function send(event) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await post("/api/flow/records", { topic, partition: Number(partition), acks, value });
      onSent();
    } catch (failure) {
      setError(failure.message);
    }
    setBusy(false);
  }
  return html`<form class="panel flow-form" onSubmit=${send}>
    <${Field} label="Topic">
      <select value=${topic} onChange=${(event) => {
        setTopic(event.target.value);
        setPartition(0);
      }}>
        ${start.topics.map((one) => html`<option value=${one.name}>${one.name}</option>`)}
      </select>
    <//>
    <${Field} label=${chosen ? `Partition, 0 to ${chosen.partitions - 1}` : "Partition"}>
      <input type="number" min="0" max=${chosen ? chosen.partitions - 1 : undefined}
          value=${partition} onInput=${(event) => setPartition(event.target.value)} />
    <//>
    <${Field} label="acks">
      <select value=${acks} onChange=${(event) => setAcks(event.target.value)}>
        <option value="all">all: wait for all in-sync replicas</option>
        <option value="1">1: wait for the leader</option>
        <option value="0">0: do not wait</option>
      </select>
    <//>
    <${Field} label="Value">
      <input class="wide" value=${value} maxlength="10000"
          onInput=${(event) => setValue(event.target.value)} />
    <//>
    <${Button} kind="primary" type="submit" disabled=${busy}>
      ${busy ? "Sending…" : "Send a record"}
    <//>
    <${ErrorLine} error=${error} />
  </form>`;
}
