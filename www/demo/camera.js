// A picture from the camera: its video opens above the field, a button takes what it shows.

import { $, announce } from './dom.js';

/** The stream of the camera, while it is open. */
let stream;
/** Counts openings: one that comes late, after the camera was closed again, is none. */
let opening = 0;

const REFUSALS = {
  NotAllowedError: 'The camera was refused. Allow it beside the address of this page, or choose a picture instead.',
  NotFoundError: 'There is no camera. Choose a picture instead.',
  NotReadableError: 'Another program is using the camera. Close it, or choose a picture instead.',
};

async function openCamera({ note, hideNote }) {
  if (stream) return closeCamera();
  hideNote();
  const mine = ++opening;
  try {
    if (!navigator.mediaDevices) throw new Error('pages may use it on https: and on localhost alone');
    const video = { facingMode: 'environment', width: { ideal: 1280 }, height: { ideal: 960 } };
    const opened = await navigator.mediaDevices.getUserMedia({ video });
    if (mine !== opening) return stop(opened);
    stream = opened;
  } catch (error) {
    if (mine === opening) note(REFUSALS[error.name] ?? `The camera cannot be used: ${error.message}.`);
    return;
  }
  stream.getVideoTracks()[0].addEventListener('ended', closeCamera);
  $('camera-video').srcObject = stream;
  $('camera').hidden = false;
  $('open-camera').setAttribute('aria-expanded', 'true');
  $('camera-take').focus();
  announce('The camera is open');
}

/** Closes the camera, if it is open; returns whether it was. */
export function closeCamera() {
  opening += 1;
  if (!stream) return false;
  stop(stream);
  stream = undefined;
  $('camera-video').srcObject = null;
  $('camera').hidden = true;
  $('open-camera').setAttribute('aria-expanded', 'false');
  $('open-camera').focus();
  return true;
}

function stop(opened) {
  for (const track of opened.getTracks()) track.stop();
}

/** What the camera shows now, as a file. */
async function still() {
  const video = $('camera-video');
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  canvas.getContext('2d').drawImage(video, 0, 0);
  const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.92 });
  const time = new Date().toLocaleTimeString('en-GB').replaceAll(':', '.');
  return new File([blob], `Camera ${time}.jpg`, { type: 'image/jpeg' });
}

export function wireCamera({ attach, note, hideNote }) {
  $('open-camera').addEventListener('click', () => openCamera({ note, hideNote }));
  $('camera-close').addEventListener('click', closeCamera);
  $('camera-take').addEventListener('click', async () => {
    if ($('camera-video').videoWidth === 0) return; // the first picture is not there yet
    const file = await still();
    closeCamera();
    attach([file]);
    $('prompt').focus();
  });
  addEventListener('pagehide', closeCamera);
}
