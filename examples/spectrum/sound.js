// Recordings: one that the page makes, and those of files. `{ name, samples, sampleRate }`, one channel.

/** Four notes that come one after the other, over a tone that rises through all frequencies, and hiss. */
export function generate() {
  const [sampleRate, seconds] = [16_000, 4];
  const notes = [440, 554.37, 659.26, 1760];
  const turn = (2 * Math.PI) / sampleRate;
  const [low, octaves] = [50, Math.log2(8000 / 50)];
  let phase = 0;
  const samples = Float32Array.from({ length: sampleRate * seconds }, (_, i) => {
    const time = i / sampleRate;
    const chord = notes.map((hertz, n) => swell(time - n / 2, seconds - n / 2) * Math.sin(hertz * turn * i));
    phase += low * 2 ** ((octaves * time) / seconds) * turn;
    const hiss = 0.01 * (Math.random() - 0.5);
    return 0.15 * chord.reduce((sum, value) => sum + value) + 0.04 * Math.sin(phase) + hiss;
  });
  return { name: 'four notes, a rising tone and hiss', samples, sampleRate };
}

/** Loud after 50 ms, and silent at the end. */
const swell = (time, length) =>
  Math.min(Math.max(time, 0) / 0.05, 1) * Math.cos((Math.PI / 2) * Math.max(time / length, 0));

/** The most samples that are shown: three minutes at 44,100 a second. */
const MOST = 180 * 44_100;

/** The beginning of a sound file, its channels mixed into one. */
export async function decode(file) {
  const context = new OfflineAudioContext({ numberOfChannels: 1, length: 1, sampleRate: 44_100 });
  const audio = await context.decodeAudioData(await file.arrayBuffer()).catch(() => {
    throw new Error(`${file.name} is no sound that this browser can read`);
  });
  const samples = new Float32Array(Math.min(audio.length, MOST));
  for (let channel = 0; channel < audio.numberOfChannels; channel += 1) {
    const values = audio.getChannelData(channel);
    for (let i = 0; i < samples.length; i += 1) samples[i] += values[i] / audio.numberOfChannels;
  }
  return { name: file.name, samples, sampleRate: audio.sampleRate };
}
