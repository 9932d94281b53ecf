# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# For the tests of ship: a collector in the guest, and what it has received.

url=http://127.0.0.1:4318

start_receiver()
{
	[ -d /tmp/node_modules ] || {
		mkdir /tmp/node_modules
		tar -xf /tool/otlp/modules.tar -C /tmp/node_modules
	}
	rm -f port
	node /tool/otlp/receiver.js /tmp/node_modules received 4318 >port &
	# shellcheck disable=SC2034 # for the tests
	receiver=$!
	wait_for '[ -s port ]'
}

# answers MODE: see receiver.js.
answers()
{
	wget -q -O /dev/null $url/mode/"$1"
}

# Prints log records, a line of JSON each: event, time, thread, fields and the resource.
logs()
{
	[ ! -e received ] || jq -c 'def flat: map({(.key): (.value | to_entries[0].value)}) | add;
		select(.signal == "logs") | .message.resourceLogs[] |
		(.resource.attributes | flat) as $resource | .scopeLogs[].logRecords[] |
		{event: .eventName, time: .timeUnixNano, fields: (.attributes | flat), $resource}' received
}

# How many records of tick have arrived, each counted once.
ticks()
{
	logs | jq -r 'select(.event == "tick") | "\(.fields["thread.id"]) \(.fields.count)"' |
		sort -u | wc -l
}

# How many records of tick have arrived twice.
twice()
{
	logs | jq -r 'select(.event == "tick") | "\(.fields["thread.id"]) \(.fields.count)"' |
		sort | uniq -d | wc -l
}

# What the spool counts as dropped.
dropped()
{
	jq '[.drops[]] | add // 0' spool/state
}

# What has arrived in reports of dropped records: the sum of the log records.
reported()
{
	logs | jq -s 'map(select(.event == "user_events.dropped") | .fields.count | tonumber) | add // 0'
}

# What has arrived in metrics of dropped records, a line for each: when counting began, and the sum of
# all reasons.
dropped_metrics()
{
	jq -r 'select(.signal == "metrics") | .message.resourceMetrics[].scopeMetrics[].metrics[].sum |
		"\(.dataPoints[0].startTimeUnixNano) \([.dataPoints[].asInt | tonumber] | add)"' received
}
