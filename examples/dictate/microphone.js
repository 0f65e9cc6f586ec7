const REFUSALS = {
  NotAllowedError: 'The microphone was refused: allow it beside the address of this page.',
  NotFoundError: 'There is no microphone here.',
  NotReadableError: 'The microphone cannot be used: another program may have it.',
};

async function open() {
  const { mediaDevices } = navigator;
  if (!mediaDevices) throw new Error('Pages may use a microphone on https: and on localhost alone.');
  return mediaDevices.getUserMedia({ audio: true }).catch((failure) => {
    throw new Error(REFUSALS[failure.name] ?? `The microphone cannot be used: ${failure.message}`);
  });
}

/**
 * Records with the microphone, and draws how loud it is. `sound` resolves to a `Blob` once `stop` is called or the time
 * is over.
 */
export async function record(canvas, longest) {
  const stream = await open();
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
