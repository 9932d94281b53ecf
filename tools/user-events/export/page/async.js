
// Asynchronous slices: those of one name and process are on many tracks, one for each number. They share
// a row, and each track takes the first lanes that are free while it has slices.

const lastLane = 63;

function tracksByName() {
	const names = new Map(), used = new Set(slices.track);
	head.tracks.forEach((track, number) => {
		if (track.own || track.thread || !used.has(number))
			return;
		const name = track.process + " " + track.name;
		names.set(name, [...names.get(name) || [], number]);
	});
	return [...names.values()].filter(tracks => tracks.length > 1);
}

// Moves the tracks of one row to lanes of their own.
function takeLanes(tracks, extents, firstLane) {
	const ends = [];
	for (const track of [...tracks].sort((a, b) => extents[a].from - extents[b].from)) {
		const {from, to, deep} = extents[track];
		let lane = 0;
		while (lane < lastLane && ends.slice(lane, lane + deep).some(end => end > from))
			lane++;
		for (let i = lane; i < lane + deep; i++)
			ends[i] = to;
		firstLane[track] = lane;
		head.tracks[track].row = tracks[0];
	}
}

function shareRows() {
	const groups = tracksByName(), firstLane = new Uint8Array(head.tracks.length);
	if (!groups.length)
		return;
	const extents = head.tracks.map(() => ({from: Infinity, to: -Infinity, deep: 1}));
	for (let i = 0; i < slices.begin.length; i++) {
		const extent = extents[slices.track[i]];
		extent.from = Math.min(extent.from, slices.from[i]);
		extent.to = Math.max(extent.to, slices.to[i]);
		extent.deep = Math.max(extent.deep, slices.depth[i] + 1);
	}
	for (const tracks of groups)
		takeLanes(tracks, extents, firstLane);
	for (let i = 0; i < slices.depth.length; i++)
		slices.depth[i] = Math.min(slices.depth[i] + firstLane[slices.track[i]], lastLane);
}
shareRows();
