// A click on the extension's button opens the side panel, which does the rest.
chrome.sidePanel.setPanelBehavior({ openPanelOnActionClick: true });
