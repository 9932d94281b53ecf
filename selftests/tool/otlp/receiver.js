// SPDX-License-Identifier: GPL-2.0-only
// receiver.js MODULES FILE [PORT [DIRECTORY]]
//
// A collector for tests. It decodes OTLP requests with OpenTelemetry's own definitions, in the
// folder MODULES, writes those that it takes to FILE, a line of JSON each, and prints its port. A
// request for /mode/NAME[/NUMBER] says how it answers from then on:
//
//	ok		it takes requests
//	status/N	it answers N; status/503 also asks to wait for a second
//	partial/N[/M]	it takes requests, but says that it has rejected N records, with the message M
//	half		it takes requests, but closes the connection in the middle of the answer
//	garbage		it takes requests, and answers what is no message
//	close		it closes the connection without an answer
//	silent		it never answers
//
// A request for /answered returns how many requests have come since then.
//
// With a DIRECTORY, it speaks TLS with key.pem and cert.pem from there, and takes only clients with a
// certificate that ca.pem has signed.
"use strict";
const fs = require("fs");
const http = require("http");
const https = require("https");
const zlib = require("zlib");

const [modules, path, port, directory] = process.argv.slice(2);
const root = require(modules + "/@opentelemetry/otlp-transformer/build/src/generated/root.js");
const collector = root.opentelemetry.proto.collector;
const signals = {
    "/v1/logs": ["logs", collector.logs.v1.ExportLogsServiceRequest,
        collector.logs.v1.ExportLogsServiceResponse, "rejectedLogRecords"],
    "/v1/traces": ["traces", collector.trace.v1.ExportTraceServiceRequest,
        collector.trace.v1.ExportTraceServiceResponse, "rejectedSpans"],
    "/v1/metrics": ["metrics", collector.metrics.v1.ExportMetricsServiceRequest,
        collector.metrics.v1.ExportMetricsServiceResponse, "rejectedDataPoints"],
};
let mode = "ok";
let number = 0;
let reason = "";
let answered = 0;

function keep(request, signal, body) {
    const isJson = request.headers["content-type"] === "application/json";
    const plain = request.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(body) : body;
    const message = isJson ? JSON.parse(plain)
        : signal[1].toObject(signal[1].decode(plain), { longs: String, bytes: String });
    fs.appendFileSync(path, JSON.stringify(
        { signal: signal[0], headers: request.headers, size: body.length, message }) + "\n");
    return isJson;
}

function answer(request, response, body) {
    const signal = signals[request.url];
    answered++;
    if (mode === "silent")
        return;
    if (mode === "close")
        return request.socket.destroy();
    if (mode === "status")
        return response.writeHead(number, number === 503 ? { "Retry-After": "1" } : {}).end();
    const isJson = keep(request, signal, body);
    const partial = mode === "partial"
        ? { partialSuccess: { [signal[3]]: number, errorMessage: reason } } : {};
    let text = isJson ? JSON.stringify(partial)
        : Buffer.from(signal[2].encode(signal[2].fromObject(partial)).finish());
    if (mode === "garbage")
        text = "\xff\xff<html>";
    if (mode !== "half")
        return response.writeHead(200).end(text);
    response.writeHead(200, { "Content-Length": 1000 });
    response.write("x", () => request.socket.destroy());
}

function take(request, response) {
    const parts = request.url.split("/");
    if (parts[1] === "answered")
        return response.end(String(answered));
    if (parts[1] === "mode") {
        mode = parts[2];
        number = Number(parts[3]);
        reason = parts[4] || "too old";
        answered = 0;
        return response.end();
    }
    const chunks = [];
    request.on("data", chunk => chunks.push(chunk));
    request.on("end", () => answer(request, response, Buffer.concat(chunks)));
}

const pem = name => fs.readFileSync(directory + "/" + name + ".pem");
const server = directory
    ? https.createServer({ key: pem("key"), cert: pem("cert"), ca: pem("ca"), requestCert: true }, take)
    : http.createServer(take);
server.listen(Number(port || 0), "127.0.0.1", () => console.log(server.address().port));
