// A picture from the camera: its video opens above the field, a button takes what it shows.

import { $, announce } from './dom.js';
import { MediaInput } from './media-input.js';

const video = { facingMode: 'environment', width: { ideal: 1280 }, height: { ideal: 960 } };
const camera = new MediaInput({ name: 'camera', instead: 'picture', constraints: { video } });

async function openCamera({ note, hideNote }) {
  if (closeCamera()) return;
  hideNote();
  const isOpen = await camera.open(note, (stream) => {
    stream.getVideoTracks()[0].addEventListener('ended', closeCamera);
    $('camera-video').srcObject = stream;
  });
  if (!isOpen) return;
  $('camera').hidden = false;
  $('open-camera').setAttribute('aria-expanded', 'true');
  $('camera-take').focus();
  announce('The camera is open');
}

/** Closes the camera, if it is open; returns whether it was. */
export function closeCamera() {
  if (!camera.close()) return false;
  $('camera-video').srcObject = null;
  $('camera').hidden = true;
  $('open-camera').setAttribute('aria-expanded', 'false');
  $('open-camera').focus();
  return true;
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
