/**
 * Records with the microphone, and draws how loud it is. `sound` resolves to a `Blob` once `stop` is called or the time
 * is over.
 */
export async function record(canvas, longest) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const [recorder, context] = [new MediaRecorder(stream), new AudioContext()];
  const meter = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(meter);
  const parts = [];
  recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
  const sound = new Promise((resolve) => {
    recorder.addEventListener('stop', () => {
      for (const track of stream.getTracks()) track.stop();
      context.close();
      resolve(new Blob(parts, { type: recorder.mimeType }));
    });
  });
  recorder.start();
  const stop = () => recorder.state === 'recording' && recorder.stop();
  const timer = setTimeout(stop, 1000 * longest);
  sound.then(() => clearTimeout(timer));
  draw(canvas, meter, () => recorder.state === 'recording');
  return { sound, stop };
}

/** A bar for each moment, the last one on the right. */
function draw(canvas, meter, isOn) {
  const [context, values, bars] = [canvas.getContext('2d'), new Float32Array(meter.fftSize), []];
  const { width, height } = canvas;
  const step = () => {
    meter.getFloatTimeDomainData(values);
    const loudness = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
    bars.push(Math.min(1, 4 * loudness));
    context.clearRect(0, 0, width, height);
    context.fillStyle = getComputedStyle(canvas).color;
    bars.slice(-width / 4).forEach((bar, at, { length }) => {
      const tall = Math.max(2, bar * height);
      context.fillRect(width - 4 * (length - at), (height - tall) / 2, 3, tall);
    });
    if (isOn()) requestAnimationFrame(step);
  };
  step();
}
